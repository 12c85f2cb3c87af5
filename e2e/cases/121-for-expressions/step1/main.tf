locals {
  people = [{ n = "ann", t = "x" }, { n = "bob", t = "y" }, { n = "cat", t = "x" }]
  m      = { b = 2, a = 1 }
}
resource "terraform_data" "f" {
  input = {
    list    = [for i, p in local.people : "${i}:${p.n}"]
    filter  = [for p in local.people : p.n if p.t == "x"]
    object  = { for p in local.people : p.n => p.t }
    grouped = { for p in local.people : p.t => p.n... }
    map     = [for k, v in local.m : "${k}=${v}"]
    set     = [for x in toset(["z", "y"]) : upper(x)]
    nested  = [for a in [1, 2] : [for b in [10, 20] : a * b]]
    splat   = local.people[*].n
    full    = local.people[*]["t"]
    null    = null[*]
    single  = "x"[*]
    legacy  = local.people.*.n
  }
}
output "f" { value = terraform_data.f.output }
