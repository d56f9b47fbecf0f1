"""Running programs on several processes and hosts, again where one fails.

An agent on each host (`_agent.py`) meets the others (`_meeting.py`), starts its workers
(`_workers.py`) and watches them. `ember.distributed.run` is the command.
"""
