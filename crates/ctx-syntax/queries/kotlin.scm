(class_declaration name: (_) @name) @def.class
(object_declaration name: (_) @name) @def.class
(function_declaration name: (_) @name (function_body)? @body) @def.function
(property_declaration (variable_declaration (identifier) @name)) @def.field
(enum_entry (identifier) @name) @def.field
(type_alias (identifier) @name) @def.type
(import (qualified_identifier) @module) @import
(delegation_specifier (user_type (identifier) @ref.extends))
(delegation_specifier (constructor_invocation (user_type (identifier) @ref.extends)))
(call_expression (identifier) @ref.call)
(call_expression (navigation_expression (identifier) @ref.call .))
