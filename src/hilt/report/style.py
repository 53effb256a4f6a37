"""The style of hilt's pages: readable at 1200 px, on a phone, and printed."""

from hilt.report.colours import LIMIT, MADE, MEASURED

CSS = f"""
body{{font:15px/1.5 system-ui,sans-serif;color:#1b1f24;max-width:1080px;margin:0 auto;padding:24px;background:#fff}}
h1{{font-size:26px;line-height:1.25;margin:0}}h1 .changed{{font-size:18px;font-weight:500;color:{MEASURED}}}
h2{{font-size:18px;margin:26px 0 8px}}h3{{font-size:15px;margin:18px 0 6px}}
p.sub{{color:#57606a;margin:4px 0}}
p.made{{color:#57606a;margin:4px 0 16px;font-size:13px}}code{{font:13px ui-monospace,monospace}}
table{{border-collapse:collapse;font-variant-numeric:tabular-nums}}
td,th{{padding:4px 18px 4px 0;text-align:left;border-bottom:1px solid #e4e8ec;vertical-align:top;text-wrap:balance}}
td.n,th.n{{text-align:right}}
.verdict{{border-left:6px solid #57606a;background:#f6f8fa;padding:10px 16px;margin:14px 0;font-size:17px}}
.verdict p{{margin:4px 0;font-size:15px}}.verdict{{text-wrap:balance}}
.verdict p,.change p,figcaption{{text-wrap:pretty}}
.verdict.good{{border-color:#1a7f37;background:#eef8f0}}.verdict.bad{{border-color:{MADE};background:#fdecea}}
.change{{background:#eef5fb;border-left:6px solid {MEASURED};padding:10px 16px;margin:8px 0}}
.change p,.seen p{{margin:4px 0}}
figure{{margin:0 0 10px;break-inside:avoid}}figure img{{width:100%;height:auto}}figcaption{{color:#57606a;font-size:14px}}
.grid figure{{max-width:820px}}
details{{border-top:1px solid #d0d7de;padding:8px 0}}summary{{font-weight:600;cursor:pointer;font-size:16px}}
details>div{{padding:4px 0 14px}}
pre{{background:#f6f8fa;padding:12px;overflow:auto;font-size:12px}}
.made{{color:{MADE}}}p.made{{color:#57606a}}.limit{{color:{LIMIT}}}
.yes{{color:#1a7f37;font-weight:600}}.no{{color:{MADE};font-weight:600}}.beyond{{color:#57606a;font-weight:600}}
@media(max-width:600px){{body{{padding:12px}}table{{display:block;overflow-x:auto}}}}
@media print{{@page{{margin:12mm}}h1{{font-size:20px}}h2{{font-size:14px;margin:10px 0 4px}}td,th{{padding:1px 14px 1px 0}}
figcaption,.verdict p{{font-size:11px}}.verdict{{font-size:13px}}body>p.sub:last-child{{display:none}}
body{{padding:0;font-size:12px;max-width:none}}details:not([open]){{display:none}}
.verdict,.change{{break-inside:avoid}}*{{-webkit-print-color-adjust:exact;print-color-adjust:exact}}}}
"""
