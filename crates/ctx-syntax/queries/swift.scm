(class_declaration name: (_) @name) @def.class
(protocol_declaration name: (_) @name) @def.interface
(function_declaration name: (simple_identifier) @name body: (_) @body) @def.function
(protocol_function_declaration name: (simple_identifier) @name) @def.method
(init_declaration "init" @name body: (_) @body) @def.method
(property_declaration name: (pattern bound_identifier: (_) @name)) @def.field
(typealias_declaration name: (_) @name) @def.type
(enum_entry name: (_) @name) @def.field
(import_declaration (identifier) @module) @import
(inheritance_specifier inherits_from: (user_type (type_identifier) @ref.extends))
(call_expression (simple_identifier) @ref.call)
(call_expression (navigation_expression suffix: (navigation_suffix suffix: (simple_identifier) @ref.call)))
(type_identifier) @ref.type
