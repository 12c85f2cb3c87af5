/** A resource as people write them: nested blocks, loops, templates, a heredoc. 25 lines. */
function resource(index: number): string {
  return `# The server number ${index}.
resource "cloud_server" "server_${index}" {
  for_each = { for k, v in var.servers : k => v if v.enabled && v.index == ${index} }
  name     = "\${local.prefix}-\${each.key}-${index}"
  image    = data.cloud_image.base["main"].id
  size     = each.value.size == null ? "small" : each.value.size
  tags     = merge(local.tags, { Name = each.key, Index = ${index} })

  network {
    subnet = cloud_subnet.main[each.value.zone].id
    ports  = [80, 443, 8000 + ${index}]
    rules  = cloud_rule.all[*].id
  }

  dynamic "disk" {
    for_each = each.value.disks
    content { size = max(disk.value.size, 10) }
  }

  user_data = <<-EOT
    #!/bin/sh
    echo "\${each.key}" > /etc/name
    %{~ for p in each.value.packages ~}
    install \${p}
    %{~ endfor ~}
  EOT
}

`;
}

/** A configuration file of about so many lines. */
export function configuration(lines: number): string {
  const parts: string[] = [];
  for (let index = 0; parts.length * 30 < lines; index++) parts.push(resource(index));
  return parts.join("");
}

/** The ten functions that configurations use most, each in a call as it is written. */
export const CALLS: readonly string[] = [
  'format("%s-%03d", name, 7)',
  'join(",", names)',
  'lookup(sizes, "web", 1)',
  "merge(sizes, { extra = 1 })",
  "length(names)",
  "toset(names)",
  "jsonencode({ a = name, b = [1, true] })",
  "concat(names, names)",
  'replace(name, "-", "_")',
  'cidrsubnet("10.0.0.0/8", 8, 3)',
];
