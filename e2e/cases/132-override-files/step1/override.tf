locals { x = "override" }
variable "v" { default = "override" }
