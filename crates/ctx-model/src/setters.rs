//! A macro for the setters of option types.

/// Defines `with_*` methods that set a field to the value given, each with its documentation.
#[doc(hidden)]
#[macro_export]
macro_rules! setters {
    (for $options:ident; $($(#[$doc:meta])* $setter:ident: $field:ident: $type:ty;)*) => {
        impl $options {
            $($(#[$doc])* #[must_use]
            pub fn $setter(mut self, $field: $type) -> Self {
                self.$field = $field;
                self
            })*
        }
    };
}
