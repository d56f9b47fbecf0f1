"""Models of layers of images, text and attention, optimizers, on the backend torch."""

import os
import tempfile

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np
from keras import layers


def say(name, *values):
    print(name, *(f"{float(v):.6g}" for v in values))


def say_history(name, history):
    for key, values in sorted(history.history.items()):
        say(f"{name} {key}", *values)


keras.utils.set_random_seed(0)
numbers = np.random.default_rng(0)
images = numbers.random((64, 12, 12, 1)).astype("float32")
labels = numbers.integers(0, 4, 64)
model = keras.Sequential(
    [
        layers.Input((12, 12, 1)),
        layers.Conv2D(8, 3, activation="relu"),
        layers.BatchNormalization(),
        layers.MaxPooling2D(),
        layers.SeparableConv2D(8, 3, padding="same"),
        layers.GroupNormalization(4),
        layers.GlobalAveragePooling2D(),
        layers.Dropout(0.2),
        layers.Dense(4, activation="softmax"),
    ]
)
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
options = {"batch_size": 16, "verbose": 0, "validation_split": 0.25}
say_history("images", model.fit(images, labels, epochs=3, **options))
say("evaluate", *model.evaluate(images, labels, verbose=0))
path = os.path.join(tempfile.mkdtemp(), "model.keras")
model.save(path)
found = keras.models.load_model(path).predict(images, verbose=0)
say("loaded", found[1, 2], found[5, 0])

text = keras.Sequential(
    [
        layers.Embedding(50, 16, mask_zero=True),
        layers.Bidirectional(layers.LSTM(8, return_sequences=True)),
        layers.GRU(8),
        layers.Dense(1, activation="sigmoid"),
    ]
)
text.compile(keras.optimizers.RMSprop(1e-2), "binary_crossentropy", metrics=["AUC"])
words, signs = numbers.integers(0, 50, (32, 10)), numbers.integers(0, 2, (32, 1))
say_history("text", text.fit(words, signs, epochs=2, verbose=0, batch_size=8))

given = layers.Input((10, 16))
mixed = layers.LayerNormalization()(layers.MultiHeadAttention(2, 8)(given, given))
result = layers.Dense(1)(layers.Flatten()(layers.Dense(16, "gelu")(mixed + given)))
attention = keras.Model(given, result)
attention.compile(keras.optimizers.AdamW(1e-3, clipnorm=1.0), "mse", metrics=["mae"])
x = numbers.normal(size=(32, 10, 16)).astype("float32")
y = numbers.normal(size=(32, 1)).astype("float32")
callbacks = [keras.callbacks.ReduceLROnPlateau("loss")]
history = attention.fit(x, y, epochs=2, verbose=0, callbacks=callbacks)
say_history("attention", history)

rate = keras.optimizers.schedules.CosineDecay(1e-2, 10)
for name in ("SGD", "Adagrad", "Adadelta", "Adamax", "Nadam", "Ftrl", "Lion", "Lamb"):
    keras.utils.set_random_seed(1)
    small = keras.Sequential(
        [layers.Input((16,)), layers.Dense(8, activation="swish"), layers.Dense(1)]
    )
    small.compile(getattr(keras.optimizers, name)(learning_rate=rate), "huber")
    history = small.fit(x[:, 0], y, epochs=2, verbose=0).history
    say(f"optimizer {name.lower()}", history["loss"][-1])

picture = numbers.random((2, 8, 8, 3)).astype("float32")
for layer in (
    layers.Conv2DTranspose(4, 3, strides=2, padding="same"),
    layers.DepthwiseConv2D(3),
    layers.AveragePooling2D(3, padding="same"),
    layers.UpSampling2D(interpolation="bilinear"),
    layers.Resizing(5, 5),
    layers.RandomFlip(seed=1),
    layers.RandomRotation(0.2, seed=1),
    layers.RandomTranslation(0.1, 0.1, seed=1),
    layers.UnitNormalization(),
):
    keras.utils.set_random_seed(2)
    name = type(layer).__name__.lower().replace("2d", "")
    options = {"training": True} if "random" in name else {}
    say(f"layer {name}", keras.ops.sum(layer(picture, **options)))
