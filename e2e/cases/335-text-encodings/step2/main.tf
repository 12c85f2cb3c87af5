output "odd" {
  value = textdecodebase64("YQ==", "UTF-16LE")
}

output "alone" {
  value = textdecodebase64("2AA=", "UTF-16BE")
}

output "odd_mark" {
  value = textdecodebase64("YQ==", "UTF-16")
}
