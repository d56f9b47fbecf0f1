"""What programs see of `ember.compile`: options, compiled functions and modules,
stances, backends, `explain`. What runs them is elsewhere: the recorder in core/lazy and
the generator of kernels in ember/compiler.
"""
