{{ no python }}
