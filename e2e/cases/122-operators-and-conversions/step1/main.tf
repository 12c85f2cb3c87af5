resource "terraform_data" "o" {
  input = {
    arithmetic = [1 + 2 * 3, (1 + 2) * 3, 7 % 3, -7 % 3, 7 / 2, -3]
    compare    = [1 < 2, 2 <= 2, "a" == "a", "1" == 1, null == null, [1] == [1], { a = 1 } == { a = 1 }]
    logic      = [true && false || true, !true, !(false && true)]
    ternary    = [true ? 1 : "a", false ? [1] : [], null == null ? "n" : "m"]
    tostring   = [tostring(1.5), tostring(true), tonumber("0x10" == "x" ? "1" : "2"), tobool("true")]
    tolist     = tolist(["a", 1])
    strings    = ["a${1}b", "${true}", "${"x"}"]
    try        = [try(local.nope.a, "fallback"), can(tonumber("x")), try(tonumber("5"), 0)]
    index      = [["a", "b"][1], { k = "v" }["k"], { k = "v" }.k]
    type       = [tolist([]), toset([]), tomap({})]
  }
}
locals { nope = {} }
output "o" { value = terraform_data.o.output }
