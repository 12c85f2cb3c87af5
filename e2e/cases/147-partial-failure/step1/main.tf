resource "terraform_data" "ok" { input = "fine" }
resource "terraform_data" "bad" {
  input = "x"
  lifecycle {
    postcondition {
      condition     = self.output == "y"
      error_message = "it is ${self.output}"
    }
  }
}
resource "terraform_data" "after_bad" { input = terraform_data.bad.output }
resource "terraform_data" "after_ok" { input = terraform_data.ok.output }
output "bad" { value = terraform_data.bad.output }
output "ok" { value = terraform_data.ok.output }
