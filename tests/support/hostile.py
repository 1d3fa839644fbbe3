"""Forty names and texts of which each would set `hit` in a page that takes it for markup or code."""

_TAGS = (
    *("<script>hit=1</script>", "</script><script>hit=1</script>", "<ScRiPt>hit=1</ScRiPt>"),
    *(
        "<script src=data:,hit=1></script>",
        "<script/x>hit=1</script >",
        "<<script>hit=1//<</script>",
    ),
    *("<img src=x onerror=hit=1>", "<img/src=x/onerror=hit=1>", "<IMG SRC=x OnErRoR=hit=1>"),
    *('"><img src=x onerror=hit=1>', "'><img src=x onerror=hit=1>", "`><img src=x onerror=hit=1>"),
    *("<svg onload=hit=1>", "<svg/onload=hit=1>", "<svg><script>hit=1</script></svg>"),
    *(
        "<svg><animate onbegin=hit=1 attributeName=x dur=1s>",
        "<svg><desc><img src=x onerror=hit=1>",
    ),
    *(
        "</svg></text><script>hit=1</script>",
        "</title><script>hit=1</script>",
        "<base href=//x.invalid>",
    ),
    *("</style><script>hit=1</script>", "</textarea><script>hit=1</script>", "<body onload=hit=1>"),
    *("--><script>hit=1</script>", "]]><script>hit=1</script>", "<!--><script>hit=1</script>"),
    *("<iframe srcdoc='<script>top.hit=1</script>'>", "<iframe src=javascript:parent.hit=1>"),
    *(
        "<details open ontoggle=hit=1>",
        "<input autofocus onfocus=hit=1>",
        "<video><source onerror=hit=1>",
    ),
    *("<math><mtext><style><img src=x onerror=hit=1>", "<object data=javascript:hit=1>"),
    *(
        "<meta http-equiv=refresh content='0;url=javascript:hit=1'>",
        "<link rel=stylesheet href=data:,x onload=hit=1>",
    ),
)
_ATTRIBUTES = (
    *(
        '" autofocus onfocus=hit=1 x="',
        "' onmouseover=hit=1 autofocus tabindex=0 onfocus=hit=1 x='",
    ),
)
_CODE = (
    "javascript:hit=1",
    "[x](javascript:hit=1)",
    "${hit=1}{{constructor.constructor('hit=1')()}}",
)
HOSTILE = (*_TAGS, *_ATTRIBUTES, *_CODE)

# What of a page runs, or would run when somebody clicks; nothing, as it should be.
RUNS = """() => [
  ...(window.hit === undefined ? [] : ["hit"]),
  ...[...document.querySelectorAll("base, object, embed, meta[http-equiv=refresh]")].map((one) => one.tagName),
  ...[...document.querySelectorAll("*")].flatMap((one) => [...one.attributes])
    .filter(({ name, value }) => name.startsWith("on") || name === "srcdoc"
      || (["href", "src", "action", "formaction", "xlink:href"].includes(name) && /^\\s*javascript:/i.test(value)))
    .map(({ name, value }) => `${name}=${value}`),
]"""
