variable "n" {
  type    = object({ a = optional(string), b = optional(number) })
  default = {}
}
resource "terraform_data" "x" {
  input = {
    direct = null
    list   = [null, "a", null]
    obj    = var.n
    cond   = var.n.a == null ? "was null" : var.n.a
    coal   = coalesce(var.n.a, "default")
    splat  = var.n.a[*]
    map    = { a = null, b = 1 }
    typed  = tostring(null)
  }
}
output "nothing" { value = null }
output "typed" { value = tostring(null) }
output "list" { value = terraform_data.x.output.list }
