//! What sets options.

/// `with_*` for fields of a type that are set as they are, each with its documentation.
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
