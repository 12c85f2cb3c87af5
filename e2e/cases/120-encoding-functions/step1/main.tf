resource "terraform_data" "e" {
  input = {
    json    = jsonencode({ a = [1, 1.5, true, null, "<&>"] })
    parsed  = jsondecode("{\"a\": [1, {\"b\": null}]}")
    yaml    = yamlencode({ a = [1, "x"], b = { c = "true" } })
    yparsed = yamldecode("a: 1\nb: [x, 2.5, true, null]\n")
    csv     = csvdecode("a,b\n1,2\n3,4\n")
    b64     = base64encode("hällo")
    unb64   = base64decode("aGk=")
    md5     = md5("x")
    sha1    = sha1("x")
    sha256  = sha256("x")
    b64sha  = base64sha256("x")
    url     = urlencode("a b&c/ä")
    parse   = parseint("ff", 16)
    pow     = pow(2, 10)
    log     = log(8, 2)
    ceil    = [ceil(1.2), floor(-1.2), signum(-3), abs(-4)]
    uuidv5  = uuidv5("dns", "example.com")
    cidr    = [cidrhost("10.0.0.0/8", 5), cidrsubnet("10.0.0.0/8", 8, 2), cidrnetmask("10.0.0.0/12")]
    subnets = cidrsubnets("10.1.0.0/16", 4, 4, 8)
    date    = formatdate("DD MMM YYYY hh:mm ZZZ", "2020-02-03T04:05:06Z")
    added   = timeadd("2020-02-03T04:05:06Z", "36h")
    cmp     = timecmp("2020-02-03T04:05:06Z", "2021-02-03T04:05:06Z")
    big     = 123456789012345678901234567890.123456789
  }
}
output "e" { value = terraform_data.e.output }
