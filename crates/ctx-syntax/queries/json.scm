(document (object (pair key: (string (string_content) @name)) @def.field))
(document (object (pair value: (object (pair key: (string (string_content) @name)) @def.field))))
