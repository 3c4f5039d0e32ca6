(function_declaration name: (_) @name body: (_) @body) @def.function
(method_declaration name: (_) @name body: (_) @body) @def.method
(type_declaration (type_spec name: (_) @name type: (struct_type)) @def.struct)
(type_declaration (type_spec name: (_) @name type: (interface_type)) @def.interface)
(type_declaration (type_spec name: (_) @name type: [(type_identifier) (qualified_type) (map_type) (slice_type) (function_type) (pointer_type) (array_type) (channel_type)]) @def.type)
(type_declaration (type_alias name: (_) @name) @def.type)
(source_file (const_declaration (const_spec name: (_) @name) @def.constant))
(source_file (var_declaration (var_spec name: (_) @name) @def.constant))
(source_file (var_declaration (var_spec_list (var_spec name: (_) @name) @def.constant)))
(field_declaration name: (_) @name) @def.field
(method_elem name: (_) @name) @def.method
(import_spec path: (_) @module) @import
(call_expression function: (identifier) @ref.call)
(call_expression function: (selector_expression field: (_) @ref.call))
(type_identifier) @ref.type
