//! Laws of this layer.
