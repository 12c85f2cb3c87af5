resource "terraform_data" "u" { input = "u" }
locals {
  unknown = terraform_data.u.id
}
resource "terraform_data" "x" {
  input = {
    cond     = local.unknown == "nope" ? "a" : "b"
    cond2    = true ? "known" : local.unknown
    template = "pre-${local.unknown}"
    list     = [local.unknown, "known"]
    length   = length([local.unknown, "b"])
    map      = { (terraform_data.u.input) = local.unknown }
    and      = false && local.unknown == "x"
    try      = try(local.unknown, "t")
    isnull   = local.unknown == null
    keys     = keys({ a = local.unknown })
    merge    = merge({ a = 1 }, { b = local.unknown })
    concat   = concat(["a"], [local.unknown])
    json     = jsonencode({ a = local.unknown })
    startswith = startswith("pre-${local.unknown}", "pre-")
  }
}
output "length" { value = length(terraform_data.x.input.list) }
