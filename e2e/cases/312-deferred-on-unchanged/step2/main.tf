resource "terraform_data" "src" {
  input = 2
}

resource "terraform_data" "pre" {
  input = "pre"

  lifecycle {
    precondition {
      condition     = terraform_data.src.output != 2
      error_message = "src must not be two (pre)"
    }
  }
}

resource "terraform_data" "post" {
  input = "post"

  lifecycle {
    postcondition {
      condition     = self.output == "post" && terraform_data.src.output != 3
      error_message = "src must not be three (post)"
    }
  }
}

resource "terraform_data" "behind" {
  input = [terraform_data.pre.id, terraform_data.src.output]
}

resource "terraform_data" "behind_post" {
  input = [terraform_data.post.id, terraform_data.src.output]
}

check "c" {
  assert {
    condition     = terraform_data.src.output == 1
    error_message = "src is not one"
  }
}
