(function_item name: (_) @name body: (_) @body) @def.function
(function_signature_item name: (_) @name) @def.function
(struct_item name: (_) @name) @def.struct
(union_item name: (_) @name) @def.struct
(enum_item name: (_) @name) @def.enum
(trait_item name: (_) @name) @def.interface
(impl_item type: (_) @qualified) @def.impl
(mod_item name: (_) @name body: (_)) @def.module
(type_item name: (_) @name) @def.type
(associated_type name: (_) @name) @def.type
(const_item name: (_) @name) @def.constant
(static_item name: (_) @name) @def.constant
(macro_definition name: (_) @name) @def.macro
; What well-known macros declare.
(macro_invocation macro: (identifier) @_word (token_tree (identifier) @_word . (identifier) @name @def.constant) (#any-of? @_word "lazy_static" "ref"))
(macro_invocation macro: (identifier) @_word (token_tree "static" . (identifier) @name @def.constant) (#eq? @_word "thread_local"))
(macro_invocation macro: (identifier) @_word (token_tree "struct" . (identifier) @name @def.struct) (#eq? @_word "bitflags"))
(field_declaration name: (_) @name) @def.field
(enum_variant name: (_) @name) @def.field
(use_declaration argument: (_) @module) @import
(extern_crate_declaration name: (_) @module) @import
(call_expression function: (identifier) @ref.call)
(call_expression function: (scoped_identifier name: (identifier) @ref.call))
(call_expression function: (field_expression field: (field_identifier) @ref.call))
(macro_invocation macro: (identifier) @ref.call)
(impl_item trait: (type_identifier) @ref.extends)
(impl_item trait: (generic_type type: (type_identifier) @ref.extends))
(type_identifier) @ref.type
