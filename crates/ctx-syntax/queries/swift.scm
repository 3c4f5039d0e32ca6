(class_declaration declaration_kind: "struct" name: (_) @name) @def.struct
(class_declaration declaration_kind: "enum" name: (_) @name) @def.enum
(class_declaration declaration_kind: "extension" name: (_) @qualified) @def.impl
(class_declaration name: (_) @qualified) @def.class
(protocol_declaration name: (_) @name) @def.interface
(function_declaration name: [(simple_identifier) (custom_operator) (bang)] @name body: (_) @body) @def.function
(function_declaration name: ["==" "!=" "===" "!==" "<" ">" "<=" ">=" "+" "-" "*" "/" "%" "+=" "-=" "*=" "/=" "%=" "++" "--" "&" "|" "^" "<<" ">>" "~"] @name body: (_) @body) @def.function
(protocol_function_declaration name: [(simple_identifier) (custom_operator) (bang)] @name) @def.method
(protocol_function_declaration name: ["==" "!=" "===" "!==" "<" ">" "<=" ">=" "+" "-" "*" "/" "%" "+=" "-=" "*=" "/=" "%=" "++" "--" "&" "|" "^" "<<" ">>" "~"] @name) @def.method
(init_declaration "init" @name body: (_)? @body) @def.method
(deinit_declaration "deinit" @name body: (_) @body) @def.method
(subscript_declaration "subscript" @name) @def.method
(macro_declaration (simple_identifier) @name) @def.macro
(source_file (property_declaration name: (pattern bound_identifier: (_) @name)) @def.constant)
(source_file (property_declaration name: (pattern (pattern (simple_identifier) @name))) @def.constant)
(property_declaration name: (pattern bound_identifier: (_) @name)) @outer.field
(protocol_property_declaration name: (pattern bound_identifier: (_) @name)) @def.field
(associatedtype_declaration name: (_) @name) @def.type
(typealias_declaration name: (type_identifier) @name) @def.type
(enum_entry name: (_) @name) @def.field
(import_declaration (identifier) @module) @import
(inheritance_specifier inherits_from: (user_type (type_identifier) @ref.extends))
(call_expression (simple_identifier) @ref.call)
(call_expression (navigation_expression suffix: (navigation_suffix suffix: (simple_identifier) @ref.call)))
(type_identifier) @ref.type
