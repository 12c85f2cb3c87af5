variable "s" { type = string }
variable "n" { type = number }
variable "b" { type = bool }
variable "l" { type = list(string) }
variable "t" { type = tuple([string, number]) }
variable "set" { type = set(number) }
variable "m" { type = map(bool) }
variable "o" {
  type = object({ a = string, b = optional(number, 7), c = optional(list(string)) })
}
variable "any" { type = any }
variable "nothing" {
  type    = string
  default = null
}
variable "never_null" {
  type     = string
  default  = "fallback"
  nullable = false
}
resource "terraform_data" "all" {
  input = { s = var.s, n = var.n, b = var.b, l = var.l, t = var.t, set = var.set, m = var.m, o = var.o, any = var.any, nothing = var.nothing, never = var.never_null }
}
