terraform {
  required_providers {
    terraform = {
      source = "terraform.io/builtin/terraform"
    }
  }
}

variable "v" {
  type    = string
  default = "x"

  validation {
    condition     = provider::terraform::encode_expr(var.v) == "\"x\""
    error_message = "v is not x"
  }
}

resource "terraform_data" "a" {
  input = var.v

  lifecycle {
    precondition {
      condition     = provider::terraform::encode_expr("${var.v}y") == "\"xy\""
      error_message = "pre"
    }
    postcondition {
      condition     = provider::terraform::encode_expr(self.input) == "\"x\""
      error_message = "post"
    }
  }
}

check "c" {
  assert {
    condition     = provider::terraform::encode_expr(["${var.v}"]) == "[\"x\"]"
    error_message = "check"
  }
}

output "o" {
  value = provider::terraform::encode_expr({ a = terraform_data.a.output })

  precondition {
    condition     = provider::terraform::encode_expr(1) == "1" && var.v != null
    error_message = "output"
  }
}
