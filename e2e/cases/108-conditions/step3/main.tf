locals { abc = "abc" }
resource "terraform_data" "a" {
  input = 3
  lifecycle {
    precondition {
      condition     = length(local.abc) == 4
      error_message = "abc must have four letters"
    }
  }
}
resource "terraform_data" "b" { input = terraform_data.a.output }
