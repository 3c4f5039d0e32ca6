//! A macro for the setters of option types.

/// Defines `with_*` methods that set a field to the value given, each with its documentation. Those
/// of a field that is an `Option` take a value with or without `Some`.
#[doc(hidden)]
#[macro_export]
macro_rules! setters {
    (for $options:ident; $($setters:tt)*) => {
        impl $options {
            $crate::setters! { $($setters)* }
        }
    };
    ($(#[$doc:meta])* $setter:ident: $field:ident: Option<$type:ty>; $($rest:tt)*) => {
        $(#[$doc])* #[must_use]
        pub fn $setter(mut self, $field: impl Into<Option<$type>>) -> Self {
            self.$field = $field.into();
            self
        }
        $crate::setters! { $($rest)* }
    };
    ($(#[$doc:meta])* $setter:ident: $field:ident: $type:ty; $($rest:tt)*) => {
        $(#[$doc])* #[must_use]
        pub fn $setter(mut self, $field: $type) -> Self {
            self.$field = $field;
            self
        }
        $crate::setters! { $($rest)* }
    };
    () => {};
}
