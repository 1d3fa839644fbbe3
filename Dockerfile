# Finegold in a container:
#
#     docker build -t finegold .
#     docker run --rm -v "$PWD:/data" finegold aggregate votes.csv -o labels.csv
#     docker run --rm -v "$PWD:/data" -p 127.0.0.1:8765:8765 -e FINEGOLD_STUDIO_TOKEN \
#         finegold studio votes.csv --host 0.0.0.0 --public-name localhost --port 8765 --no-browser
#
# The studio listens on all addresses of the container only with --host 0.0.0.0, which needs a token.
FROM python:3.13-slim AS build
WORKDIR /source
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src src
RUN python -m venv /opt/finegold \
    && /opt/finegold/bin/pip install --no-cache-dir ".[report,studio,excel,databases]" -c constraints.txt

FROM python:3.13-slim
COPY --from=build /opt/finegold /opt/finegold
RUN useradd --create-home --uid 1000 finegold && mkdir /data && chown finegold /data
ENV PATH=/opt/finegold/bin:$PATH PYTHONUNBUFFERED=1
USER finegold
WORKDIR /data
# Where the studio runs, its page answers; any other command ends by itself and needs no check.
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s CMD ["python", "-c", \
    "import urllib.request as r; r.urlopen('http://127.0.0.1:8765/', timeout=4)"]
ENTRYPOINT ["finegold"]
CMD ["--help"]
