variable "create" {
  type    = bool
  default = true
}
variable "name" { type = string }
variable "settings" {
  type    = any
  default = {}
}
resource "aws_instance" "this" {
  count                  = var.create ? 1 : 0
  ami                    = "ami-12c6146b"
  instance_type          = lookup(var.settings, "type", "t3.nano")
  user_data              = try(var.settings.user_data, null)
  ebs_optimized          = try(var.settings.ebs_optimized, null)
  tags                   = { Name = var.name }
  volume_tags            = try(var.settings.volume_tags, null)
  vpc_security_group_ids = try(var.settings.groups, null)
  dynamic "root_block_device" {
    for_each = try(var.settings.volumes, [])
    content {
      volume_size = try(root_block_device.value.size, null)
      volume_type = try(root_block_device.value.type, null)
      tags        = try(root_block_device.value.tags, null)
    }
  }
  dynamic "metadata_options" {
    for_each = compact([try(var.settings.imds, "")])
    content {
      http_tokens   = metadata_options.value
      http_endpoint = "enabled"
    }
  }
  timeouts {
    create = try(var.settings.timeouts.create, null)
  }
}
output "type" { value = try(aws_instance.this[0].instance_type, "none") }
