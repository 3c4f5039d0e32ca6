(function name: (variable) @name) @def.function
(signature name: (variable) @name) @def.function
(data_type name: (_) @name) @def.enum
(newtype name: (_) @name) @def.struct
(class name: (_) @name) @def.interface
(type_synonym name: (_) @name) @def.type
(import module: (_) @module) @import
(apply function: (variable) @ref.call)
