resource "terraform_data" "a" {
  input = 2
  lifecycle {
    postcondition {
      condition     = self.output == 1
      error_message = "the output must be one, it is ${self.output}"
    }
  }
}
resource "terraform_data" "b" { input = terraform_data.a.output }
