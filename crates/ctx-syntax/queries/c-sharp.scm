(class_declaration name: (_) @name) @def.class
(record_declaration name: (_) @name) @def.class
(struct_declaration name: (_) @name) @def.struct
(interface_declaration name: (_) @name) @def.interface
(enum_declaration name: (_) @name) @def.enum
(namespace_declaration name: (_) @name) @def.module
(file_scoped_namespace_declaration name: (_) @name) @def.module
(method_declaration name: (_) @name body: (_)? @body) @def.method
(constructor_declaration name: (_) @name body: (_)? @body) @def.method
(local_function_statement name: (_) @name body: (_)? @body) @def.function
(operator_declaration operator: _ @name body: (_)? @body) @def.method
(conversion_operator_declaration "operator" @name body: (_)? @body) @def.method
(destructor_declaration name: (_) @name body: (_)? @body) @def.method
(indexer_declaration "this" @name) @def.field
(property_declaration name: (_) @name) @def.field
(event_declaration name: (_) @name) @def.field
(event_field_declaration (variable_declaration (variable_declarator name: (_) @name))) @def.field
(record_declaration (parameter_list (parameter name: (_) @name) @def.field))
(field_declaration (modifier) @_word (variable_declaration (variable_declarator name: (_) @name)) (#eq? @_word "const")) @def.constant
(global_statement (local_declaration_statement (variable_declaration (variable_declarator name: (_) @name) @def.constant)))
(field_declaration (variable_declaration (variable_declarator name: (_) @name))) @def.field
(enum_member_declaration name: (_) @name) @def.field
(delegate_declaration name: (_) @name) @def.type
(using_directive (_) @module) @import
(base_list (identifier) @ref.extends)
(invocation_expression function: (identifier) @ref.call)
(invocation_expression function: (member_access_expression name: (_) @ref.call))
(object_creation_expression type: (identifier) @ref.call)
