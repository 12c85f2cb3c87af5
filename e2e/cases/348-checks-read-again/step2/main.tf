terraform {
  required_providers {
    local = { source = "hashicorp/local" }
  }
}

resource "terraform_data" "name" {
  input = "../files/note"
}

resource "terraform_data" "first" {
  input = "two"
}

resource "terraform_data" "second" {
  input = terraform_data.first.output
}

resource "local_file" "note" {
  filename = "../files/note"
  content  = terraform_data.second.output
}

check "of_what_is_known" {
  data "local_file" "known" {
    filename = "../files/note"
  }
  assert {
    condition     = data.local_file.known.content == "two"
    error_message = "the note says ${data.local_file.known.content}"
  }
}

# Waits for the name alone.
check "of_what_is_decided" {
  data "local_file" "decided" {
    filename = terraform_data.name.output
  }
  assert {
    condition     = data.local_file.decided.content == "two"
    error_message = "the note says ${data.local_file.decided.content}"
  }
}
