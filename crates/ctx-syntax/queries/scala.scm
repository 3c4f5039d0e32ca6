(class_definition name: (_) @name) @def.class
(object_definition name: (_) @name) @def.class
(trait_definition name: (_) @name) @def.interface
(enum_definition name: (_) @name) @def.enum
(function_definition name: (_) @name body: (_) @body) @def.function
(function_declaration name: (_) @name) @def.function
(val_definition pattern: (identifier) @name) @def.field
(var_definition pattern: (identifier) @name) @def.field
(type_definition name: (_) @name) @def.type
(import_declaration path: (_) @module) @import
(extends_clause type: (type_identifier) @ref.extends)
(call_expression function: (identifier) @ref.call)
(call_expression function: (field_expression field: (_) @ref.call))
(type_identifier) @ref.type
