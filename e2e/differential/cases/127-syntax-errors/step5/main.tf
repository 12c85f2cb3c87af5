nonsense "x" {
}
