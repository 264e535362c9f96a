"""Numbers of other libraries are stored as plain ones: a numpy float is a float to every check but msgspec's."""

import numpy as np

from gputuner.model import codec
from gputuner.model.events import PointMeasured
from gputuner.model.points import Point, Spread


def test_numpy_numbers_cross_the_codec():
    spread = Spread(n=3, median=np.float64(2.5), iqr=np.float64(0.5))
    point = Point(
        id="p", card="c", metric="m", workload="w", params={"batch": np.int64(4)}, value=np.float64(2.5), unit="1",
        spread=spread,
    )  # fmt: skip
    event = PointMeasured(run_id="r", seq=1, t_ns=2, point=point)
    back = codec.decode_event(codec.encode(event))
    assert isinstance(back, PointMeasured)
    assert back.point.value == 2.5
    assert back.point.params["batch"] == 4
    assert back.point.spread is not None
    assert back.point.spread.iqr == 0.5
    assert codec.to_builtins(point)["value"] == 2.5
