(class_declaration "interface" name: (_) @name) @def.interface
(class_declaration (modifiers (class_modifier) @_word) name: (_) @name (#eq? @_word "enum")) @def.enum
(class_declaration name: (_) @name) @def.class
(object_declaration name: (_) @name) @def.class
(companion_object name: (identifier) @name) @def.class
(function_declaration name: (_) @name (function_body)? @body) @def.function
(secondary_constructor "constructor" @name (block)? @body) @def.method
(source_file (property_declaration (variable_declaration (identifier) @name)) @def.constant)
(source_file (property_declaration (multi_variable_declaration (variable_declaration (identifier) @name))) @def.constant)
(class_body (property_declaration (variable_declaration . (identifier) @name)) @def.field)
(enum_class_body (property_declaration (variable_declaration . (identifier) @name)) @def.field)
(class_parameter ["val" "var"] (identifier) @name) @def.field
(enum_entry (identifier) @name) @def.field
(type_alias type: (identifier) @name) @def.type
(import (qualified_identifier) @module) @import
(delegation_specifier (user_type (identifier) @ref.extends))
(delegation_specifier (constructor_invocation (user_type (identifier) @ref.extends)))
(call_expression (identifier) @ref.call)
(call_expression (navigation_expression (identifier) @ref.call .))
