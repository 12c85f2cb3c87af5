locals { n = 1 }
resource "terraform_data" "a" {
  input = 1
  lifecycle {
    precondition {
      condition     = local.n < 2
      error_message = "arithmetic is broken"
    }
    postcondition {
      condition     = self.output == 1
      error_message = "the output must be one, it is ${self.output}"
    }
  }
}
