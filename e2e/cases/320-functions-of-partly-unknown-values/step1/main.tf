resource "terraform_data" "u" { input = "x" }
locals {
  u  = terraform_data.u.output
  s  = terraform_data.u.id
  m  = { a = "known", b = terraform_data.u.id }
  mm = tomap({ a = "known", b = terraform_data.u.id })
  l  = ["c", terraform_data.u.id, "a"]
  tl = tolist(["c", terraform_data.u.id, "a"])
  st = toset(["c", terraform_data.u.id])
  mo = { a = { x = 1, y = terraform_data.u.id }, b = { x = 2, y = "k" } }
}

output "e000" {
  value = lookup(local.m, "a")
}

output "e001" {
  value = lookup(local.mm, "a")
}

output "e002" {
  value = lookup(local.mm, "zz", "d")
}

output "e003" {
  value = lookup(local.m, "zz", "d")
}

output "e004" {
  value = lookup(local.mm, "b", "d")
}

output "e005" {
  value = lookup(local.mm, "a", terraform_data.u.id)
}

output "e006" {
  value = lookup(local.mo, "b")
}

output "e007" {
  value = lookup(tomap(local.mo), "b", null)
}

output "e008" {
  value = length(sort(local.tl))
}

output "e009" {
  value = length(local.tl)
}

output "e011" {
  value = sort(["b", "a"])
}

output "e012" {
  value = length(reverse(local.l))
}

output "e013" {
  value = reverse(local.l)[0]
}

output "e014" {
  value = element(local.l, 0)
}

output "e015" {
  value = element(local.tl, 2)
}

output "e016" {
  value = index(["a", "b"], "b")
}

output "e017" {
  value = contains(local.l, "c")
}

output "e018" {
  value = contains(local.l, "zz")
}

output "e019" {
  value = contains(local.tl, "a")
}

output "e020" {
  value = contains(local.st, "c")
}

output "e021" {
  value = length(distinct(local.tl))
}

output "e022" {
  value = distinct(["a", "a"])
}

output "e023" {
  value = length(compact(local.tl))
}

output "e024" {
  value = length(concat(local.l, ["z"]))
}

output "e025" {
  value = concat(local.tl, ["z"])[0]
}

output "e026" {
  value = length(flatten([local.l, ["q"]]))
}

output "e027" {
  value = flatten([local.l, ["q"]])[0]
}

output "e028" {
  value = keys(local.m)
}

output "e029" {
  value = keys(local.mm)
}

output "e030" {
  value = values(local.m)[0]
}

output "e031" {
  value = values(local.mm)[0]
}

output "e032" {
  value = length(values(local.mm))
}

output "e033" {
  value = merge(local.m, { c = "x" }).c
}

output "e034" {
  value = merge(local.mm, { c = "x" })["c"]
}

output "e035" {
  value = merge(local.m, { b = "x" })
}

output "e036" {
  value = zipmap(["a", "b"], ["k", terraform_data.u.id]).a
}

output "e037" {
  value = zipmap(["a", terraform_data.u.id], ["k", "l"])
}

output "e038" {
  value = length(zipmap(tolist(["a", "b"]), tolist(["k", terraform_data.u.id])))
}

output "e039" {
  value = transpose({ a = ["x", terraform_data.u.id], b = ["x"] })
}

output "e040" {
  value = length(transpose({ a = ["x"], b = ["x", terraform_data.u.id] }))
}

output "e041" {
  value = setunion(["a"], local.st)
}

output "e042" {
  value = length(setunion(["a"], [terraform_data.u.id]))
}

output "e043" {
  value = setintersection(["a"], local.st)
}

output "e044" {
  value = setsubtract(["a"], local.st)
}

output "e045" {
  value = setproduct(["a", "b"], local.l)[0]
}

output "e046" {
  value = length(setproduct(["a", "b"], local.l))
}

output "e047" {
  value = length(setproduct(["a", "b"], local.st))
}

output "e048" {
  value = setproduct(["a", "b"], local.st)
}

output "e049" {
  value = length(local.st)
}

output "e050" {
  value = length(local.m)
}

output "e051" {
  value = coalesce("a", local.s)
}

output "e052" {
  value = coalesce(local.s, "a")
}

output "e053" {
  value = coalesce(null, local.s)
}

output "e054" {
  value = coalescelist(["a"], local.tl)
}

output "e055" {
  value = coalescelist([], local.tl)[0]
}

output "e056" {
  value = coalescelist(local.tl, ["a"])[0]
}

output "e057" {
  value = chunklist(local.tl, 2)[0][0]
}

output "e058" {
  value = length(chunklist(local.tl, 2))
}

output "e059" {
  value = slice(local.l, 0, 1)
}

output "e060" {
  value = slice(local.tl, 0, 1)
}

output "e061" {
  value = length(slice(local.tl, 1, 3))
}

output "e062" {
  value = matchkeys(["i", "j"], ["c", "d"], ["c"])
}

output "e063" {
  value = matchkeys(["i", local.s], ["c", "d"], ["c"])
}

output "e064" {
  value = matchkeys(["i", "j"], ["c", local.s], ["c"])
}

output "e065" {
  value = length(matchkeys(["i", local.s], ["c", "d"], ["c"]))
}

output "e066" {
  value = sum([1, 2])
}

output "e067" {
  value = sum([1, length(local.s)])
}

output "e068" {
  value = max(1, 2, length(local.s))
}

output "e069" {
  value = min(1, length(local.s))
}

output "e070" {
  value = range(3)
}

output "e071" {
  value = one([local.s])
}

output "e072" {
  value = one(["k"])
}

output "e073" {
  value = one([])
}

output "e074" {
  value = alltrue([true, local.s == "x"])
}

output "e075" {
  value = alltrue([false, local.s == "x"])
}

output "e076" {
  value = anytrue([true, local.s == "x"])
}

output "e077" {
  value = anytrue([false, local.s == "x"])
}

output "e078" {
  value = join(",", local.l)
}

output "e079" {
  value = join(",", ["a", "b"])
}

output "e080" {
  value = split(",", local.s)
}

output "e081" {
  value = format("%s-%s", "a", local.s)
}

output "e082" {
  value = format("%s", "a")
}

output "e083" {
  value = formatlist("%s-%s", "a", local.l)[0]
}

output "e084" {
  value = length(formatlist("%s-%s", "a", local.tl))
}

output "e085" {
  value = formatlist("%s", local.tl)[0]
}

output "e086" {
  value = jsonencode(local.m)
}

output "e087" {
  value = jsonencode({ a = 1 })
}

output "e088" {
  value = yamlencode(local.m)
}

output "e089" {
  value = can(local.m.a)
}

output "e090" {
  value = can(local.m.zz)
}

output "e091" {
  value = can(local.m.b)
}

output "e092" {
  value = can(tonumber(local.s))
}

output "e093" {
  value = try(local.m.a, "d")
}

output "e094" {
  value = try(local.m.b, "d")
}

output "e095" {
  value = try(local.m.zz, "d")
}

output "e096" {
  value = try(tonumber(local.s), 1)
}

output "e097" {
  value = try(local.mo.a, "d").x
}

output "e098" {
  value = tolist(local.l)[0]
}

output "e099" {
  value = toset(local.l)
}

output "e100" {
  value = tomap(local.m)["a"]
}

output "e101" {
  value = tostring(local.s)
}

output "e102" {
  value = toset(["a", "a"])
}

output "e103" {
  value = nonsensitive(sensitive(local.m)).a
}

output "e104" {
  value = issensitive(local.m)
}

output "e105" {
  value = issensitive(local.s)
}

output "e106" {
  value = startswith(local.s, "x")
}

output "e107" {
  value = startswith("abc", local.s)
}

output "e108" {
  value = strcontains("abc", local.s)
}

output "e109" {
  value = substr("abc", 0, length(local.s))
}

output "e110" {
  value = templatestring(local.s, {})
}

output "e111" {
  value = replace("abc", "b", local.s)
}

output "e112" {
  value = lower(local.s)
}

output "e113" {
  value = upper("k")
}

output "e114" {
  value = trim(local.s, "x")
}

output "e115" {
  value = cidrsubnets("10.0.0.0/8", 8, 8)
}

output "e116" {
  value = cidrsubnet("10.0.0.0/8", 8, length(local.s))
}

output "e117" {
  value = merge({ a = local.s }, local.mm)["a"]
}

output "e118" {
  value = merge(null, local.mm)["a"]
}

output "e119" {
  value = [for k, v in local.mm : k]
}

output "e120" {
  value = [for k, v in local.mm : v if k == "a"]
}

output "e121" {
  value = { for k, v in local.mm : k => v if k == "a" }
}

output "e122" {
  value = { for v in local.tl : v => 1 }
}

output "e123" {
  value = length([for v in local.tl : v])
}

output "e124" {
  value = length([for v in local.tl : v if v != "c"])
}

output "e125" {
  value = local.mm == local.mm
}

output "e126" {
  value = local.m == { a = "known", b = "z" }
}

output "e127" {
  value = local.m == { a = "other", b = "z" }
}

output "e128" {
  value = local.m != { a = "other", b = "z" }
}

output "e129" {
  value = local.tl == tolist(["c"])
}

output "e130" {
  value = local.s == null
}

output "e131" {
  value = local.s == "" ? 1 : 2
}

output "e132" {
  value = local.s == "" ? [1] : [2]
}

output "e133" {
  value = length(local.s == "" ? [1] : [2])
}

output "e134" {
  value = [local.s][0]
}

output "e135" {
  value = "${local.s}-x"
}

output "e136" {
  value = "x-${local.s}"
}

output "e137" {
  value = startswith("x-${local.s}", "x-")
}

output "e138" {
  value = startswith("x-${local.s}", "y-")
}

output "e139" {
  value = "x-${local.s}" == "y"
}

output "e140" {
  value = "x-${local.s}" == ""
}

output "e141" {
  value = "x-${local.s}" == null
}

output "e142" {
  value = length("x-${local.s}")
}

output "e144" {
  value = lookup({ for k in ["a"] : k => local.s }, "a")
}

output "e145" {
  value = element(["a"], length(local.s))
}

output "e146" {
  value = element(local.tl, 5)
}

output "e147" {
  value = contains(keys(local.mm), "a")
}

output "e148" {
  value = contains(values(local.mm), "known")
}

output "e149" {
  value = contains(values(local.mm), "unk")
}

output "e150" {
  value = contains([local.s], local.s)
}

output "e151" {
  value = index(local.l, "c")
}

output "e152" {
  value = index(local.tl, "c")
}

output "e153" {
  value = index(local.tl, "a")
}

output "e154" {
  value = distinct(local.tl)
}

output "e155" {
  value = compact(local.tl)
}

output "e157" {
  value = length(toset(local.tl))
}

output "e158" {
  value = length(toset([local.s]))
}

output "e159" {
  value = toset([local.s])
}

output "e160" {
  value = one(toset([local.s]))
}

output "e161" {
  value = setproduct([local.s], ["a"])
}

output "e165" {
  value = yamldecode("a: 1")
}

output "e166" {
  value = lookup(local.mm, local.s, "d")
}

output "e167" {
  value = lookup(local.m, local.s, "d")
}

output "e170" {
  value = values({ a = 1, b = local.s })
}

output "e171" {
  value = nonsensitive(local.s)
}

output "e172" {
  value = ephemeralasnull(local.m).a
}

output "e173" {
  value = ephemeralasnull(local.m)
}

output "e176" {
  value = length(split(",", local.s))
}

output "e177" {
  value = length(split(",", "a,b"))
}

output "e178" {
  value = length(range(length(local.s)))
}

output "e179" {
  value = coalesce("", "", local.s)
}

output "e180" {
  value = coalesce(local.s, null)
}

output "e181" {
  value = length(merge(local.mm, { c = "x" }))
}

output "e182" {
  value = keys(merge(local.mm, { c = "x" }))
}

output "e183" {
  value = merge(local.mm, { b = "x" })
}

output "e185" {
  value = length(flatten([["a"], local.st]))
}

output "e186" {
  value = flatten([["a"], [local.u]])
}

output "e187" {
  value = setunion(["a"], ["b"])
}

output "e189" {
  value = transpose(tomap({ a = ["x"] }))
}

output "e190" {
  value = zipmap(["a"], [local.u])
}

output "e191" {
  value = try(local.u.foo, "d")
}

output "e192" {
  value = can(local.u.foo)
}

output "e193" {
  value = local.u == "x"
}

output "e195" {
  value = length(local.u)
}

resource "terraform_data" "counted" {
  count = lookup({ n = 2, other = terraform_data.u.id }, "n")
  input = count.index
}
