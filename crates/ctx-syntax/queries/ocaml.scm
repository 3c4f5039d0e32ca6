(compilation_unit (value_definition (let_binding . [(value_name) @name (parenthesized_operator (_) @name)] (parameter) body: (_) @body) @def.function))
(compilation_unit (value_definition (let_binding . [(value_name) @name (parenthesized_operator (_) @name)] body: [(fun_expression) (function_expression)] @body) @def.function))
(compilation_unit (value_definition (let_binding . (value_name) @name body: (_) @body) @def.constant))
(compilation_unit (value_definition (let_binding . (parenthesized_pattern (tuple_pattern (value_name) @name))) @def.constant))
(compilation_unit (value_definition (let_binding . (tuple_pattern (value_name) @name)) @def.constant))
(structure (value_definition (let_binding . [(value_name) @name (parenthesized_operator (_) @name)] (parameter) body: (_) @body) @def.function))
(structure (value_definition (let_binding . [(value_name) @name (parenthesized_operator (_) @name)] body: [(fun_expression) (function_expression)] @body) @def.function))
(structure (value_definition (let_binding . (value_name) @name body: (_) @body) @def.constant))
(value_specification [(value_name) @name (parenthesized_operator (_) @name)]) @def.function
(external (value_name) @name) @def.function
(module_definition (module_binding (module_name) @name)) @def.module
(module_type_definition (module_type_name) @name) @def.interface
(type_definition (type_binding name: (_) @name body: (record_declaration)) @def.struct)
(type_definition (type_binding name: (_) @name body: (variant_declaration)) @def.enum)
(type_definition (type_binding name: (_) @name) @def.type)
(field_declaration (field_name) @name) @def.field
(variant_declaration (constructor_declaration (constructor_name) @name) @def.field)
(exception_definition (constructor_declaration (constructor_name) @name)) @def.type
(class_definition (class_binding (class_name) @name)) @def.class
(class_type_definition (class_type_binding (class_type_name) @name)) @def.interface
(method_definition (method_name) @name body: (_)? @body) @def.method
(method_specification (method_name) @name) @def.method
(instance_variable_definition (instance_variable_name) @name) @def.field
(open_module module: (_) @module) @import
(application_expression function: (value_path (value_name) @ref.call))
