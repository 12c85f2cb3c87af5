variables {
  name = "shop"
}

run "makes_the_host" {
  assert {
    condition     = output.host == "shop.example.com"
    error_message = "The host is ${output.host}."
  }
}

run "refuses_long_names" {
  command         = plan
  expect_failures = [var.name]
  variables {
    name = "a-name-that-is-too-long"
  }
}
