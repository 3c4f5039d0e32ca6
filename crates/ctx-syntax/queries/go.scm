(function_declaration name: (_) @name body: (_)? @body) @def.function
(method_declaration receiver: (parameter_list (parameter_declaration type: [(type_identifier) @within (pointer_type (type_identifier) @within) (generic_type type: (_) @within) (pointer_type (generic_type type: (_) @within))])) name: (_) @name body: (_)? @body) @def.method
(type_declaration (type_spec name: (_) @name type: (struct_type)) @def.struct)
(type_declaration (type_spec name: (_) @name type: (interface_type)) @def.interface)
(type_declaration (type_spec name: (_) @name ) @def.type)
(type_declaration (type_alias name: (_) @name) @def.type)
(source_file (const_declaration (const_spec (identifier) @name) @def.constant) (#not-eq? @name "_"))
(source_file (var_declaration (var_spec name: (_) @name) @def.constant) (#not-eq? @name "_"))
(source_file (var_declaration (var_spec_list (var_spec name: (_) @name) @def.constant)) (#not-eq? @name "_"))
(field_declaration name: (_) @name) @def.field
(field_declaration !name type: [(type_identifier) @name (qualified_type name: (_) @name) (generic_type type: (type_identifier) @name)]) @def.field
(method_elem name: (_) @name) @def.method
(import_spec path: (_) @module) @import
(call_expression function: (identifier) @ref.call)
(call_expression function: (selector_expression field: (_) @ref.call))
(type_identifier) @ref.type
