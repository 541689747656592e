"""Services behind the pages: sessions, jobs, the scheduler, uploads, and the changes to Streamlit."""
