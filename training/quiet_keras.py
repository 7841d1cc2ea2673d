"""Import this first to load Keras and its backend without what they would look for on the chance of a use."""

from kbert.quiet_start import load_keras

load_keras()
