(document (block_node (block_mapping (block_mapping_pair key: (_) @name) @def.field)))
(document (block_node (block_mapping (block_mapping_pair value: (block_node (block_mapping (block_mapping_pair key: (_) @name) @def.field))))))
