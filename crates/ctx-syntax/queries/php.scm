(function_definition name: (_) @name body: (_) @body) @def.function
(class_declaration name: (_) @name) @def.class
(interface_declaration name: (_) @name) @def.interface
(trait_declaration name: (_) @name) @def.interface
(enum_declaration name: (_) @name) @def.enum
(enum_case name: (_) @name) @def.field
(namespace_definition name: (_) @name) @def.module
(method_declaration name: (_) @name body: (_)? @body) @def.method
(property_declaration (property_element name: (_) @name)) @def.field
(property_promotion_parameter name: (_) @name) @def.field
(const_declaration (const_element . (name) @name)) @def.constant
(program (expression_statement (function_call_expression function: (name) @_word arguments: (arguments . (argument (string (string_content) @name)))) @def.constant) (#eq? @_word "define"))
(program (expression_statement (assignment_expression left: (variable_name) @name) @def.constant))
(namespace_use_declaration (namespace_use_clause (_) @module)) @import
(namespace_use_declaration (namespace_name) @module body: (namespace_use_group (namespace_use_clause . (_) @module))) @import
(base_clause (name) @ref.extends)
(class_interface_clause (name) @ref.extends)
(function_call_expression function: (name) @ref.call)
(member_call_expression name: (name) @ref.call)
(scoped_call_expression name: (name) @ref.call)
(object_creation_expression (name) @ref.call)
