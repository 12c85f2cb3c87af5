variable "v" {}
variable "v" {}
