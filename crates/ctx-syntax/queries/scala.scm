(class_definition name: (_) @name) @def.class
(object_definition name: (_) @name) @def.class
(package_object name: (_) @name) @def.class
(trait_definition name: (_) @name) @def.interface
(enum_definition name: (_) @name) @def.enum
(function_definition name: (_) @name body: (_) @body) @def.function
(function_declaration name: (_) @name) @def.function
(given_definition name: (_) @name) @def.class
(compilation_unit [(val_definition pattern: (identifier) @name) @def.constant (var_definition pattern: (identifier) @name) @def.constant])
(compilation_unit (val_definition pattern: [(identifiers (identifier) @name) (tuple_pattern (identifier) @name)]) @def.constant)
(val_definition pattern: (identifier) @name) @outer.field
(var_definition pattern: (identifier) @name) @outer.field
(val_definition pattern: [(identifiers (identifier) @name) (tuple_pattern (identifier) @name)]) @outer.field
(val_declaration name: (_) @name) @outer.field
(var_declaration name: (_) @name) @outer.field
(class_parameter ["val" "var"] name: (_) @name) @def.field
(class_definition "case" class_parameters: (class_parameters (class_parameter name: (_) @name) @def.field))
(simple_enum_case name: (_) @name) @def.field
(full_enum_case name: (_) @name) @def.field
(type_definition name: (_) @name) @def.type
(import_declaration path: (_) @module (#set! hidden "path")) @import
(extends_clause type: (type_identifier) @ref.extends (#set! hidden "type"))
(call_expression function: (identifier) @ref.call)
(call_expression function: (field_expression field: (_) @ref.call))
(type_identifier) @ref.type
