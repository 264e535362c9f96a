from gputuner.api import BatchAnswer as BatchAnswer
from gputuner.api import BatchSize as BatchSize
from gputuner.api import ExperimentFailed as ExperimentFailed
from gputuner.api import find_batch_size as find_batch_size
