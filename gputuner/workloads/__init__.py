"""What a GPU is made to do. The worker's closure (this file, worker, wire, bodies) imports nothing of gputuner."""
