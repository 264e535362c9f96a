"""Our own kernels, compiled on the machine by NVRTC: memory streams, pointer chases, regions of the VRAM.

They run in gputuner's own interpreter, in a second kind of worker; the bodies of ``workloads/bodies`` and their torch
are strangers to this room, of which it uses the trial, the protocols and the classes of failures.
"""
